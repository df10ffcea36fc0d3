import { checkArchitecture } from './architecture-rules.ts';

const findings = checkArchitecture(new URL('..', import.meta.url).pathname);
for (const finding of findings) process.stderr.write(`${finding}\n`);
process.exitCode = findings.length === 0 ? 0 : 1;
