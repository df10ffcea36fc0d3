// Sends requests in a process of its own: node load-side.mjs OPTIONS, where the options are those of
// autocannon as JSON. Its command line reads a body as text; here `bodyFile` may name any bytes.
import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';

const { bodyFile, ...options } = JSON.parse(process.argv[2]);
if (bodyFile !== undefined) options.body = readFileSync(bodyFile);
const { requests, duration, non2xx, errors } = await autocannon(options);
process.stdout.write(JSON.stringify({ sent: requests.total, duration, failed: non2xx + errors }));
