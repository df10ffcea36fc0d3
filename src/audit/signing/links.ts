import { appendFileDurable } from '../../storage/append-durable.ts';
import { unlessMissing } from '../../storage/storage-error.ts';
import { readBeside } from '../chain/log-files.ts';
import { publicKeyOf, type PublicKey, type SigningKey } from './keys.ts';
import { statementFields, StatementFault, signingInput, textIn } from './statement.ts';

const PURPOSE = 'arrowgate audit key link 1';

/**
 * States that one signing key follows another. Both keys sign it, so trust in one of them
 * extends to the other. The first key of a log follows itself.
 */
interface KeyLink {
  readonly old: PublicKey;
  readonly next: PublicKey;
  /** RFC 3339, in UTC. */
  readonly time: string;
}

/** Appends a link to a file of links, durably. */
export async function addKeyLink(path: string, old: SigningKey, next: SigningKey): Promise<void> {
  const time = new Date().toISOString();
  const [from, to] = [old.public.pem, next.public.pem];
  const statement = signingInput(PURPOSE, [from, to, time]);
  const line = {
    old: from,
    next: to,
    time,
    signed_by_old: old.sign(statement),
    signed_by_next: next.sign(statement),
  };
  await appendFileDurable(path, `${JSON.stringify(line)}\n`);
}

/** Links of a file with valid signatures, oldest first; none if the file is missing. */
export async function readKeyLinks(path: string): Promise<readonly KeyLink[]> {
  const text = (await unlessMissing(readBeside(path))) ?? '';
  return text.split('\n').flatMap((line) => (line === '' ? [] : (linkIn(line) ?? [])));
}

/** The keys and all keys linked with them, in either direction. */
export function withLinked(
  keys: readonly PublicKey[],
  links: readonly KeyLink[],
): readonly PublicKey[] {
  const trusted = new Map(keys.map((key) => [key.id, key]));
  for (let size = -1; size !== trusted.size;) {
    size = trusted.size;
    for (const { old, next } of links) {
      if (!trusted.has(old.id) && !trusted.has(next.id)) continue;
      trusted.set(old.id, old).set(next.id, next);
    }
  }
  return [...trusted.values()];
}

/** Undefined for a torn line and for an invalid signature. */
function linkIn(line: string): KeyLink | undefined {
  try {
    const fields = statementFields(line);
    const [from, to] = [textIn(fields, 'old'), textIn(fields, 'next')];
    const time = textIn(fields, 'time');
    const [old, next] = [publicKeyOf(from), publicKeyOf(to)];
    const statement = signingInput(PURPOSE, [from, to, time]);
    const isGood =
      old?.verifies(statement, textIn(fields, 'signed_by_old')) === true &&
      next?.verifies(statement, textIn(fields, 'signed_by_next')) === true;
    return isGood ? { old, next, time } : undefined;
  } catch (error) {
    if (error instanceof StatementFault) return undefined;
    throw error;
  }
}
