// Loaded before the program (`--import`): the audit log takes every record and writes none.
import { register } from 'node:module';

register(new URL('without-log-hooks.mjs', import.meta.url));
