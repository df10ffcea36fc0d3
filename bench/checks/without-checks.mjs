// Loaded before the program (`--import`): portions of files are compared with no checksum.
import { register } from 'node:module';

register(new URL('without-checks-hooks.mjs', import.meta.url));
