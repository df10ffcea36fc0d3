/** A file of a text index that is not what was written. Its rows can still be read from the table itself. */
export class DamagedText extends Error {
  readonly path: string;

  constructor(path: string) {
    super(`the index file ${path} fails its checksum`);
    this.path = path;
  }
}
