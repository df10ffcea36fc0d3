import { openLog } from '../../../src/cli/config/log.ts';

const format = process.argv[2] === 'text' ? 'text' : 'json';
const log = openLog({ 'log.level': 'info', 'log.format': format });
log.error('nothing takes this');
setImmediate(() => {
  log.error('nor this');
  process.stdout.write('went on\n');
});
