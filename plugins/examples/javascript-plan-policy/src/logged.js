import host from "waxwing:plugin/host@0.1.0";

/**
 * Runs a call of the server. A component has no console, and an exception that is not the call's
 * own error type ends it without a text: so its message goes to the plugin's log.
 */
export function logged(call) {
  try {
    return call();
  } catch (error) {
    if (error instanceof Error) host.log("error", `${error}\n${error.stack}`, []);
    throw error;
  }
}
