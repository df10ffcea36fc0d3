import { boolType } from '../bound.ts';
import { room, spend } from '../meter.ts';
import { maskStates, newStates, statesColumn, truth } from '../column.ts';
import { allValid, bytesOf, textAt } from '../text.ts';
import type { FunctionRow } from './function-row.ts';
import { plainFunction } from './function-row.ts';

/** The runs of letters and digits in a text, as they are written. */
function tokensOf(text: string): ReadonlySet<string> {
  spend(text.length * 8);
  room(text.length * 24);
  return new Set(text.match(/[\p{Alphabetic}\p{N}]+/gu));
}

const containsTokensRow = plainFunction({
  usage: 'contains_tokens(text, tokens)',
  parameters: ['text', 'text'],
  result: boolType,
  kernel: ([column, wanted], { length }) => {
    const [texts, tokens] = [bytesOf(column!), bytesOf(wanted!)];
    const valid = allValid([texts, tokens]);
    const states = newStates(length);
    let last: { readonly text: string; readonly tokens: ReadonlySet<string> } | undefined;
    for (let row = 0; row < length; row++) {
      if (valid === null || valid[row] === 1) {
        const text = textAt(tokens, row);
        last = last?.text === text ? last : { text, tokens: tokensOf(text) };
        spend(last.tokens.size * 16);
        const found = tokensOf(textAt(texts, row));
        states[row] = [...last.tokens].every((token) => found.has(token))
          ? truth.true
          : truth.false;
      }
    }
    maskStates(states, valid);
    return statesColumn(states);
  },
});

/** `contains_tokens(text, 'some words')`: whether all of the words are in a text, upper and lower case apart. */
export const tokenFunctions: Readonly<Record<string, FunctionRow>> = {
  contains_tokens: containsTokensRow,
};
