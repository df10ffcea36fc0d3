/** Routes that clients of LanceDB call and that no operation here serves, by what they are about. */
const families: readonly (readonly [what: string, path: RegExp])[] = [
  ['views', /^\/v1\/(view\/[^/]+\/[a-z_]+|namespace\/[^/]+\/view\/list)$/],
  ['secrets', /^\/v1\/(secret\/[^/]+\/[a-z_]+|namespace\/[^/]+\/secret\/list)$/],
  ['functions', /^\/v1\/(function\/[^/]+\/[a-z_]+|namespace\/[^/]+\/function\/list)$/],
  ['errors of functions', /^\/v1\/table\/[^/]+\/errors$/],
  [
    'materialized views',
    /^\/v1\/(materialized_view\/[^/]+\/[a-z_]+|namespace\/[^/]+\/materialized_view\/list)$/,
  ],
  ['pauses of jobs', /^\/v1\/jobs\/(pause|resume)$/],
];

/**
 * What a path of a LanceDB client is about that this service does not support; undefined for a
 * path of no such client.
 * @param path Without its query.
 */
export function unsupportedBy(path: string): string | undefined {
  const plain = path.length > 1 ? path.replace(/\/$/, '') : path;
  return families.find(([, pattern]) => pattern.test(plain))?.[0];
}
