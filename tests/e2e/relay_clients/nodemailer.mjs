// Sends the message on standard input, or one that it makes with the file there, as the job in the
// argument says.

import { readFileSync } from "node:fs";
import { createTransport } from "nodemailer";

const job = JSON.parse(process.argv[1]);
const input = readFileSync(0);
const transport = createTransport({
  pool: job.envelopes?.length > 1,
  maxConnections: 2,
  host: job.host,
  port: job.port,
  secure: job.implicit,
  requireTLS: true,
  authMethod: job.mechanism,
  auth: { user: job.key, pass: job.key },
  tls: job.ca ? { ca: readFileSync(job.ca) } : {},
});

function messages() {
  if (job.compose) {
    const { from, to, subject, text, filename } = job.compose;
    return [{ from, to, subject, text, attachments: [{ filename, content: input }] }];
  }
  return job.envelopes.map((to) => ({ envelope: { from: job.from, to }, raw: input }));
}

try {
  for (const sent of await Promise.all(messages().map((it) => transport.sendMail(it)))) {
    if (sent.rejected.length > 0) throw new Error(`rejected: ${sent.rejected}`);
    console.log(sent.response);
  }
} catch (error) {
  console.log(error.code, error.response ?? "", error.message);
  process.exitCode = 1;
} finally {
  transport.close();
}
