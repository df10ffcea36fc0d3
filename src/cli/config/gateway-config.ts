import type { Config, ConfigPath } from './config-table.ts';

/** A value as a file has it: durations and sizes are texts such as `30s` and `64MiB`, or numbers. */
type Written<Value> = Value extends number
  ? number | string
  : Value extends string | boolean | null | readonly string[]
    ? Value
    : Value extends readonly unknown[]
      ? readonly object[]
      : object;

/** The keys before the first dot of paths. */
type Head<Path> = Path extends `${infer First}.${string}` ? First : Path;

/** Members of paths with dots, as nested objects in which everything may be absent. */
type Nested<Flat> = {
  readonly [Key in Head<keyof Flat> & string]?: Key extends keyof Flat
    ? Flat[Key]
    : Nested<{
        [Path in keyof Flat as Path extends `${Key}.${infer Rest}` ? Rest : never]: Flat[Path];
      }>;
};

/** The configuration as `arrowgate.yaml` has it. */
export type GatewayConfig = Nested<{
  [Path in Exclude<ConfigPath, 'admin_key'>]: Written<Config[Path]>;
}>;
