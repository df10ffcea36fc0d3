import { pino } from 'pino';
import { expect, it } from 'vitest';
import { textLines } from '../../../src/cli/config/log.ts';

it('An entry of the log as text is one line, whatever is in it', () => {
  const lines: string[] = [];
  const write = (line: string): boolean => lines.push(line) > 0;
  const log = pino(
    { level: 'debug', timestamp: () => ',"time":1795177521127' },
    textLines({ write }),
  );
  log.warn({ backend: 'west', err: new Error('a\nb') }, 'it is\naway "now"');
  log.debug({ fault: 'x\r\n2026 INFO all is well' });
  expect(lines).toHaveLength(2);
  expect(lines.map((line) => line.trimEnd().split(/[\r\n]/).length)).toEqual([1, 1]);
  expect(lines[0]).toMatch(
    /^2026-11-20T12:25:21\.127Z WARN it is\\naway \\"now\\" backend="west" err=\{"type":"Error"/,
  );
  expect(lines[1]).toBe('2026-11-20T12:25:21.127Z DEBUG  fault="x\\r\\n2026 INFO all is well"\n');
});
