// Prints the latencies of requests as JSON: a process of its own, whose clock nothing else holds up.
import { latencies, percentile } from './latency.ts';

const [url = '', key = '', count = '0'] = process.argv.slice(2);
const times = await latencies(url, key, Number(count));
process.stdout.write(JSON.stringify({ p50: percentile(times, 0.5), p99: percentile(times, 0.99) }));
