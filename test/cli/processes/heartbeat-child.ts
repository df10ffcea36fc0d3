import cluster from 'node:cluster';
import { answerHeartbeats } from '../../../src/cli/processes/heartbeat.ts';

// A process that its supervisor has asked nothing, as one whose first question came while it was being loaded.

if (cluster.isPrimary) {
  const worker = cluster.fork();
  worker.on('message', ({ beat }: { readonly beat?: string }) => {
    process.stdout.write(`${beat}\n`);
    worker.process.kill('SIGKILL');
  });
} else {
  answerHeartbeats();
}
