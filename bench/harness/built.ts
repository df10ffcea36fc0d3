/**
 * A module of the built program. The sources would be compiled again by whatever runs the benchmark, and not as
 * users run them. `Module` is the type of the source file.
 * @param path Below `dist/`.
 */
export async function built<Module>(path: string): Promise<Module> {
  return (await import(new URL(`../../dist/${path}`, import.meta.url).href)) as Module;
}
