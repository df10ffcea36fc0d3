import { endAt, startAt } from '../../arrow/spans.ts';
import { kernelOf, boolType, type Bound, type Kernel } from '../evaluate/bound.ts';
import { CodePoints } from '../patterns/like-column.ts';
import { maskStates, newStates, statesColumn, truth } from '../values/column.ts';
import { call } from '../evaluate/node.ts';
import { compileRegexp, type RegexpMatcher } from '../patterns/regexp.ts';
import type { RegexpFlags } from '../patterns/regexp-set.ts';
import { allValid, textColumnOf, textAt } from '../values/text.ts';
import { checkCount, fitArgument, type FunctionCall, type FunctionRow } from './function-row.ts';
import { flagsArgument, bindRegexpMatch, regexpPartFunctions } from './regexp-parts.ts';

/** The matcher of each row's pattern; consecutive equal patterns are compiled once. */
function matcherOf(flags: RegexpFlags, position: number): (pattern: string) => RegexpMatcher {
  let last: { readonly pattern: string; readonly matcher: RegexpMatcher } | undefined;
  return (pattern) => {
    if (last?.pattern !== pattern) {
      last = { pattern, matcher: compileRegexp(pattern, flags, position) };
    }
    return last.matcher;
  };
}

/** `nullState` is the result for a null text or pattern. */
function regexpKernel(
  fixed: RegexpMatcher | undefined,
  flags: RegexpFlags,
  patternPosition: number,
  nullState: number,
): Kernel {
  return kernelOf(2, ([text, pattern], { length }) => {
    const [texts, patterns] = [textColumnOf(text), textColumnOf(pattern)];
    const valid = allValid([texts, patterns]);
    const states = newStates(length);
    const room = new CodePoints();
    const find = matcherOf(flags, patternPosition);
    for (let row = 0; row < length; row++) {
      if (valid === null || valid[row] === 1) {
        const matcher = fixed ?? find(textAt(patterns, row));
        room.read(texts.bytes, startAt(texts, row), endAt(texts, row), false);
        states[row] = matcher.matches(room.codes, room.length) ? truth.true : truth.false;
      }
    }
    if (nullState === truth.unknown) maskStates(states, valid);
    return statesColumn(states);
  });
}

function bindRegexp(usage: string, made: FunctionCall, nullState: number): Bound {
  checkCount(usage, made, 2, 3);
  const { name, position } = made;
  const [text, pattern] = made.arguments
    .slice(0, 2)
    .map((argument, at) => fitArgument(usage, 'text', argument, at + 1));
  const { flags } = flagsArgument(usage, made, 3, false);
  const written =
    pattern!.kind === 'literal' && typeof pattern.value === 'string' ? pattern.value : undefined;
  const fixed =
    written === undefined ? undefined : compileRegexp(written, flags, pattern!.position);
  return call({
    name,
    type: boolType,
    arguments: [text!, pattern!],
    kernel: regexpKernel(fixed, flags, pattern!.position, nullState),
    position,
    // A pattern from a column may be one that is refused.
    fallible: pattern!.kind !== 'literal',
  });
}

function regexpRow(name: string, nullState: number): FunctionRow {
  const usage = `${name}(text, pattern[, 'flags'])`;
  return { usage, bind: (made) => bindRegexp(usage, made, nullState) };
}

const matchUsage = "regexp_match(text, pattern[, 'flags'])";

/** In a predicate `regexp_match` tests for a match, as in LanceDB; a null text does not match. */
const matchRow: FunctionRow = {
  usage: matchUsage,
  bind: (made) =>
    made.asTest ? bindRegexp(matchUsage, made, truth.false) : bindRegexpMatch(matchUsage, made),
};

/** Functions of regular expressions. */
export const regexpFunctions: Readonly<Record<string, FunctionRow>> = {
  regexp_like: regexpRow('regexp_like', truth.unknown),
  regexp_match: matchRow,
  ...regexpPartFunctions,
};
