/** A configuration that cannot be used: one sentence that names where and which key. */
export class ConfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ConfigError';
  }
}
