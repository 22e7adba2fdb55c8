// What a team would write in an afternoon. It checks the key, renders the same
// Liquid files with cached templates, and answers 201 once BullMQ has the job; Redis runs with
// appendfsync always, so the job is on disk by then. One process a core, as Node is deployed.

import cluster from 'node:cluster';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import Fastify from 'fastify';
import { Liquid } from 'liquidjs';

const { API_KEY, PORT, REDIS_PORT, TEMPLATES, WORKERS } = process.env;

if (cluster.isPrimary) {
  let listening = 0;
  cluster.on('listening', () => {
    listening += 1;
    if (listening === Number(WORKERS)) console.log(JSON.stringify({ listening }));
  });
  cluster.on('exit', (_worker, code) => process.exit(code || 1));
  for (let worker = 0; worker < Number(WORKERS); worker += 1) cluster.fork();
} else {
  await serve();
}

async function serve() {
  const html = new Liquid({ outputEscape: 'escape' });
  const plain = new Liquid();
  const read = (slug, part) => readFileSync(join(TEMPLATES, slug, `${part}.liquid`), 'utf8');
  const templates = new Map([
    ['load-invoice', {
      subject: plain.parse(read('invoice', 'subject')),
      html: html.parse(read('invoice', 'html')),
      text: plain.parse(read('invoice', 'text')),
    }],
    ['load-line', {
      subject: plain.parse(read('line', 'subject')),
      text: plain.parse(read('line', 'text')),
    }],
  ]);
  const queue = new Queue('messages', {
    connection: { host: '127.0.0.1', port: Number(REDIS_PORT) },
    defaultJobOptions: { attempts: 5, backoff: { type: 'exponential', delay: 60_000 } },
  });

  const app = Fastify();
  app.post('/messages/send', async (request, reply) => {
    if (request.headers['x-api-key'] !== API_KEY) return reply.code(401).send({ success: false });
    const { to, template: slug, data } = request.body;
    const template = templates.get(slug);
    if (!template || !/^[^@\s]+@[^@\s]+$/.test(to ?? '')) {
      return reply.code(400).send({ success: false });
    }
    const job = await queue.add('send', {
      to,
      subject: plain.renderSync(template.subject, data),
      html: template.html && html.renderSync(template.html, data),
      text: plain.renderSync(template.text, data),
    });
    return reply.code(201).send({ success: true, messageId: job.id });
  });
  await app.listen({ host: '127.0.0.1', port: Number(PORT) });
}
