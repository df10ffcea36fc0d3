#!/usr/bin/env node
import { runCommand } from './command-line.ts';
import { restrictUmask } from './file-modes.ts';
import { processOutput } from './output.ts';

restrictUmask();

// Whoever reads what is printed may stop reading; that must not stop a gateway.
process.stdout.on('error', () => undefined);
process.stderr.on('error', () => undefined);

process.exitCode = await runCommand(process.argv.slice(2), processOutput);
