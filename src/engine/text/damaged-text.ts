/** A file of a text index that is not what was written. Its rows can still be read from the table itself. */
export class DamagedText extends Error {
  readonly path: string;

  constructor(path: string) {
    super('a checksum of it does not fit');
    this.path = path;
  }
}
