import { encodeSegment } from '../../protocol/identifier.ts';

/** A value as it is meant, or a sentence about why a text can mean none. */
export type Typed<Value> = { readonly value: Value } | { readonly fault: string };

/** The name that a policy line matches, from what was typed: `alice` and `user:alice` are the same. */
export function typedName(kind: 'user' | 'group' | 'role', typed: string): Typed<string> {
  const [, prefix, rest = ''] = /^(user|group|role):(.*)$/s.exec(typed) ?? [];
  if (prefix !== undefined && prefix !== kind) {
    return { fault: `${typed} is a ${prefix}, but a ${kind} is needed` };
  }
  const name = prefix === undefined ? typed : decoded(rest);
  if (name === '') return { fault: 'a name is empty' };
  const value = `${kind}:${encodeSegment(name)}`;
  if (prefix === undefined || value === typed) return { value };
  return { fault: `${typed} is not in its canonical spelling: write ${value}` };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
