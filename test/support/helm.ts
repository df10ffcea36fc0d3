import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { root } from './documents.ts';

/** The folder of the chart. */
export const CHART: string = join(root, 'deploy/helm');
/** The Kubernetes that is rendered for. */
export const KUBERNETES = '1.31.0';

/** Variables that find the programs that `scripts/system-packages.mjs` builds. */
const env = {
  ...process.env,
  PATH: `${process.env['PATH']}:${join(homedir(), '.cache/arrowgate-tools')}`,
};

/** Whether Helm is on the path, or was built for the tests. */
export const hasHelm: boolean =
  spawnSync('helm', ['version'], { env, stdio: 'ignore' }).status === 0;

/** A manifest of Kubernetes. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  /** Of a ConfigMap. */
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: unknown;
}

/** How Helm ended: its output, or its error. */
export interface HelmRun {
  readonly out: string;
  readonly error: string;
}

/** Runs Helm with the values in a file. */
export function helm(
  command: 'lint' | 'template',
  values: unknown,
  flags: readonly string[] = [],
  chart = CHART,
): HelmRun {
  const folder = mkdtempSync(join(tmpdir(), 'arrowgate-helm-'));
  try {
    const file = join(folder, 'values.yaml');
    writeFileSync(file, stringify(values));
    const place = command === 'lint' ? [chart] : ['arrowgate', chart];
    const args = [command, ...place, '--kube-version', KUBERNETES, '-f', file, ...flags];
    const { status, stdout, stderr } = spawnSync('helm', args, { env, encoding: 'utf8' });
    return { out: stdout, error: status === 0 ? '' : stdout + stderr };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The manifests of the chart with some values. @throws Error with the sentence of Helm */
export function rendered(values: unknown): readonly Manifest[] {
  const { out, error } = helm('template', values);
  if (error !== '') throw new Error(error);
  return manifestsIn(out);
}

/** The notes of a release: Helm shows them only to somebody with a cluster, so they are made a manifest here. */
export function notesOf(values: unknown, namespace: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'arrowgate-notes-'));
  try {
    cpSync(CHART, folder, { recursive: true });
    renameSync(join(folder, 'templates/NOTES.txt'), join(folder, 'notes.txt'));
    const template = 'notes: {{ tpl (.Files.Get "notes.txt") . | toJson }}';
    writeFileSync(join(folder, 'templates/notes.yaml'), template);
    const flags = ['--show-only', 'templates/notes.yaml', '--namespace', namespace];
    const { out, error } = helm('template', values, flags, folder);
    if (error !== '') throw new Error(error);
    return (parse(out) as { notes: string }).notes;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The manifests of a YAML text. */
export function manifestsIn(text: string): readonly Manifest[] {
  const all = parseAllDocuments(text);
  if (!Array.isArray(all)) return [];
  const faults = all.flatMap(({ errors }) => errors);
  if (faults[0] !== undefined) throw faults[0];
  return all.map((document) => document.toJS() as Manifest | null).filter((each) => each !== null);
}

/** The manifest of a kind, and of a name where there are several. @throws Error when there is none */
export function manifestOf(
  manifests: readonly Manifest[],
  kind: string,
  name = 'arrowgate',
): Manifest {
  const found = manifests.find((each) => each.kind === kind && each.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
}
