/**
 * Keys of objects in object stores. The object of the URI `s3://BUCKET/NAME` has the key `/s3:/BUCKET/NAME`,
 * whichever store of the configuration holds it. So a location in a record is a key, and its URI follows from
 * it without the configuration.
 */
const SCHEME = 's3:';
const OBJECTS = `/${SCHEME}/`;

/** Whether a key belongs to an object store. */
export function isObjectKey(key: string): boolean {
  return key.startsWith(OBJECTS);
}

/** The key of a bucket, or of a prefix in it: names with `/` between them, or empty. */
export function objectRoot(bucket: string, prefix: string): string {
  return prefix === '' ? `${OBJECTS}${bucket}` : `${OBJECTS}${bucket}/${prefix}`;
}

/** A key as clients write it: the URI of an object, or the path of a file. */
export function wireLocation(key: string): string {
  return isObjectKey(key) ? `${SCHEME}//${key.slice(OBJECTS.length)}` : key;
}

/** The key of an `s3:` URI; undefined for any other text. */
export function keyOfUri(uri: string): string | undefined {
  const [, name] = /^s3:\/\/([^/].*)$/s.exec(uri) ?? [];
  return name === undefined ? undefined : `${OBJECTS}${name}`;
}

/**
 * What a key begins with and the name of an object does not, for clients that open the store of a location:
 * the bucket, or the slash of an absolute path.
 */
export function storeRoot(location: string): string {
  const end = isObjectKey(location) ? location.indexOf('/', OBJECTS.length) : 0;
  return location.slice(0, end + 1);
}

/** The bucket of an object's key, and its name in the bucket. */
export function nameInBucket(key: string): { readonly bucket: string; readonly name: string } {
  const [bucket = '', ...names] = key.slice(OBJECTS.length).split('/');
  return { bucket, name: names.join('/') };
}

/** Keys that all clients of object stores write alike. */
const PLAIN = /^[\w/:.=@+-]*$/;

/** Whether a key consists of characters that all clients of object stores write alike. */
export function isPlainKey(key: string): boolean {
  return PLAIN.test(key);
}
