import { spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root } from './documents.ts';

/** As much of `package.json` as an installation needs. */
interface Manifest {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
}

/** One file of a package. */
export interface PackedFile {
  readonly path: string;
  readonly size: number;
}

/**
 * The package that `npm pack` makes, in a folder that has nothing else: what npm would install, without a
 * registry. Its dependencies are linked from this project.
 */
export class InstalledPackage {
  /** The folder of the program that uses the package. */
  readonly folder: string;
  readonly files: readonly PackedFile[];
  readonly manifest: Manifest;

  private constructor(folder: string, files: readonly PackedFile[], manifest: Manifest) {
    this.folder = folder;
    this.files = files;
    this.manifest = manifest;
  }

  /** @param beside Packages that the program uses besides. */
  static async make(beside: readonly string[]): Promise<InstalledPackage> {
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-package-'));
    const place = join(folder, 'node_modules/arrowgate');
    const packed = run(root, 'npm', [
      'pack',
      '--json',
      '--ignore-scripts',
      `--pack-destination=${folder}`,
    ]);
    const [{ filename, files }] = Object.values(JSON.parse(packed)) as [Packed];
    await mkdir(place, { recursive: true });
    run(folder, 'tar', ['xzf', filename, '--strip-components=1', '-C', place]);
    const manifest = JSON.parse(await readFile(join(place, 'package.json'), 'utf8')) as Manifest;
    for (const name of [...Object.keys(manifest.dependencies), ...beside]) {
      await link(join(root, 'node_modules', name), join(folder, 'node_modules', name));
    }
    for (const [name, path] of Object.entries(manifest.bin)) {
      await chmod(join(place, path), 0o755);
      await link(join(place, path), join(folder, 'node_modules/.bin', name));
    }
    await writeFile(join(folder, 'package.json'), '{ "type": "module", "private": true }\n');
    return new InstalledPackage(folder, files, manifest);
  }

  /** The folder of the package itself. */
  get place(): string {
    return join(this.folder, 'node_modules/arrowgate');
  }

  /** The program, as `npx arrowgate` starts it. */
  get program(): string {
    return join(this.folder, 'node_modules/.bin/arrowgate');
  }

  /** Writes a file of the program that uses the package. */
  async write(name: string, text: string): Promise<void> {
    await writeFile(join(this.folder, name), text);
  }

  /** Runs a command in its folder. @throws Error unless it ends with 0 */
  run(command: string, args: readonly string[]): string {
    return run(this.folder, command, args);
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true });
  }
}

interface Packed {
  readonly filename: string;
  readonly files: readonly PackedFile[];
}

async function link(target: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await symlink(target, path);
}

function run(cwd: string, command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stdout}${stderr}`);
  return stdout;
}
