import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { referenceDocs } from './reference-docs.ts';

for (const [path, text] of Object.entries(referenceDocs())) {
  writeFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), text);
}
