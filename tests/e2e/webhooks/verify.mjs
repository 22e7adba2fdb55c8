// Verifies requests with the official library; prints "verified", or why not.
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const requests = JSON.parse(readFileSync(0, "utf8"));
const results = requests.map(({ secret, headers, body }) => {
  try {
    new Webhook(secret).verify(body, headers);
    return "verified";
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
});
console.log(JSON.stringify(results));
