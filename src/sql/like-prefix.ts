/** What a LIKE pattern asks of the beginning of a text. */
export interface LikePrefix {
  /** The text must begin so. */
  readonly text: string;
  /** What must follow: nothing, anything, or something that only the pattern tells. */
  readonly rest: 'nothing' | 'anything' | 'more';
}

/** The part of a pattern before its first `%` or `_`; the character behind `escape` is itself. */
export function likePrefix(pattern: string, escape: string): LikePrefix {
  const characters = Array.from(pattern);
  let text = '';
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at]!;
    if (character === escape && at + 1 < characters.length) {
      at++;
      text += characters[at]!;
    } else if (character === '%' || character === '_') {
      const all = characters.slice(at).every((each) => each === '%');
      return { text, rest: all && escape !== '%' ? 'anything' : 'more' };
    } else {
      text += character;
    }
  }
  return { text, rest: 'nothing' };
}
