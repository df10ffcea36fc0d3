import { archivePolicy } from '../../src/audit/archived-policies.ts';

/** Keeps one policy after the other until it is killed, and tells each that is kept. Arguments: folder, prefix. */
const [folder = '', name = ''] = process.argv.slice(2);
for (let number = 0; ; number++) {
  const digest = `${name}-${number}`;
  const text = `${digest}\n`.repeat(2000);
  await archivePolicy(folder, digest, [
    { name: 'a.csv', text },
    { name: 'b.csv', text },
  ]);
  process.send?.(digest);
}
