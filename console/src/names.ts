/** Names of an object, from the root. */
export type Names = readonly string[];

const DELIMITERS = ['$', '~', '|', '\u2022', '\u2023'];

/** The canonical path of the audit log and of policy lines. */
export function pathOf(names: Names): string {
  return `/${names.map(segment).join('/')}`;
}

/** The names in a canonical path. */
export function namesOf(path: string): Names {
  const parts = path.split('/').filter((part) => part !== '');
  return parts.map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
}

function segment(name: string): string {
  return encodeURIComponent(name).replace(
    /[!'()*~]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The call of an operation on an object: its path below the API of the console, with its query. */
export function callOf(
  kind: 'namespace' | 'table',
  names: Names,
  operation: string,
  query: Readonly<Record<string, string>> = {},
): string {
  const delimiter = delimiterOf(names);
  const id = names.length === 0 ? delimiter : names.join(delimiter);
  const given = Object.entries({ delimiter, ...query }).filter(([, value]) => value !== '');
  const parameters = new URLSearchParams(given).toString();
  return `v1/${kind}/${encodeURIComponent(id)}/${operation}?${parameters}`;
}

/** A delimiter that is in none of the names. */
function delimiterOf(names: Names): string {
  return DELIMITERS.find((each) => names.every((name) => !name.includes(each))) ?? '$';
}
