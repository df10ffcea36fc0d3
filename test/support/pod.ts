import { readFileSync } from 'node:fs';
import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { root } from './documents.ts';
import type { Manifest } from './helm.ts';

/** Files of a ConfigMap or Secret, by their keys. */
export type Files = Readonly<Record<string, string>>;

interface Item {
  readonly key: string;
  readonly path: string;
}

interface Source {
  readonly name?: string;
  readonly secretName?: string;
  readonly items?: readonly Item[];
}

export interface Volume {
  readonly name: string;
  readonly configMap?: Source;
  readonly secret?: Source;
  readonly projected?: { readonly sources: readonly Omit<Volume, 'name'>[] };
  readonly emptyDir?: unknown;
  readonly persistentVolumeClaim?: unknown;
}

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef?: { readonly name: string; readonly key: string } };
}

export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: readonly Variable[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext: unknown;
  readonly startupProbe: Probe;
  readonly readinessProbe: Probe;
  readonly livenessProbe: Probe;
  readonly resources: unknown;
  readonly volumeMounts: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly readOnly?: boolean;
  }[];
}

export interface PodSpec {
  readonly automountServiceAccountToken: boolean;
  readonly enableServiceLinks: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: unknown;
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes: readonly Volume[];
}

/** A claim of a StatefulSet: each of its pods has a volume of this name. */
interface ClaimTemplate {
  readonly metadata: { readonly name: string };
  readonly spec: unknown;
}

/** Of a Deployment, which has a strategy, or of a StatefulSet, which has claims. */
export interface WorkloadSpec {
  readonly replicas: number;
  readonly strategy?: { readonly type: string };
  readonly volumeClaimTemplates?: readonly ClaimTemplate[];
  readonly template: { readonly spec: PodSpec };
}

/** The Deployment or StatefulSet among some manifests. @throws Error when there is none, or both */
export function workloadOf(manifests: readonly Manifest[]): WorkloadSpec {
  const [found, ...others] = manifests.filter(({ kind }) => WORKLOADS.includes(kind));
  if (found === undefined || others.length > 0) throw new Error('there is not one workload');
  return found.spec as WorkloadSpec;
}

const WORKLOADS = ['Deployment', 'StatefulSet'];

/** The specification of the pods of a workload, with the volumes that its claims add. */
export function podOf(manifests: readonly Manifest[]): PodSpec {
  const { template, volumeClaimTemplates = [] } = workloadOf(manifests);
  const claimed = volumeClaimTemplates.map(({ metadata: { name } }) => ({
    name,
    persistentVolumeClaim: {},
  }));
  return { ...template.spec, volumes: [...template.spec.volumes, ...claimed] };
}

/** The container of a name. @throws Error when there is none */
export function containerOf(pod: PodSpec, name = 'arrowgate'): Container {
  const found = pod.containers.find((each) => each.name === name);
  if (found === undefined) throw new Error(`there is no container ${name}`);
  return found;
}

/** The variables of the image, as its Dockerfile sets them. */
export function imageVariables(): Record<string, string> {
  const text = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');
  const last = text.slice(text.lastIndexOf('\nFROM '));
  const pairs = [...last.matchAll(/\b([A-Z_]+)=([^\s\\]+)/g)];
  return Object.fromEntries(pairs.map(([, name, value]) => [name!, value!]));
}

/** A pod whose root folder is a folder of the test. */
export class Pod {
  readonly #root: string;
  readonly #objects: Readonly<Record<string, Files>>;
  readonly #pod: PodSpec;

  /** @param objects The ConfigMaps and Secrets of the cluster, by their names. */
  constructor(folder: string, pod: PodSpec, objects: Readonly<Record<string, Files>>) {
    this.#root = folder;
    this.#pod = pod;
    this.#objects = objects;
  }

  /** Where a path of the container is. */
  at(path: string): string {
    return join(this.#root, path);
  }

  /** Mounts what the container mounts. */
  async mount(): Promise<void> {
    for (const { name, mountPath } of containerOf(this.#pod).volumeMounts) {
      const volume = this.#pod.volumes.find((each) => each.name === name);
      if (volume === undefined) throw new Error(`there is no volume ${name}`);
      const files = this.#filesOf(volume);
      await mkdir(this.at(mountPath), { recursive: true });
      if (files !== undefined) await this.write(mountPath, files);
    }
  }

  /** Writes files as the kubelet does: behind a link `..data`, which is replaced at once. */
  async write(mountPath: string, files: Files): Promise<void> {
    const place = this.at(mountPath);
    const stamp = `..${Math.random().toString(36).slice(2)}`;
    await mkdir(join(place, stamp));
    for (const [name, text] of Object.entries(files)) {
      await writeFile(join(place, stamp, name), this.#moved(text));
      await symlink(join('..data', name), join(place, name)).catch(ifThere);
    }
    await relink(stamp, join(place, '..data'));
  }

  /** Publishes files in a folder of a repository as git-sync does: behind its link `current`. */
  async publish(mountPath: string, path: string, files: Files): Promise<void> {
    const commit = Math.random().toString(36).slice(2);
    const folder = join(this.at(mountPath), '.worktrees', commit, path);
    await mkdir(folder, { recursive: true });
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    await relink(join('.worktrees', commit), join(this.at(mountPath), 'current'));
  }

  /** The variables of the image and of the container. */
  variables(): Record<string, string> {
    const own = (containerOf(this.#pod).env ?? []).map(({ name, value, valueFrom }) => {
      const secret = valueFrom?.secretKeyRef;
      const text = secret === undefined ? value : this.#objects[secret.name]?.[secret.key];
      if (text === undefined) throw new Error(`the variable ${name} has no value`);
      return [name, text] as const;
    });
    const all = Object.entries({ ...imageVariables(), ...Object.fromEntries(own) });
    return Object.fromEntries(all.map(([name, value]) => [name, this.#moved(value)]));
  }

  #filesOf({ configMap, secret, projected }: Omit<Volume, 'name'>): Files | undefined {
    if (projected !== undefined)
      return Object.assign({}, ...projected.sources.map((source) => this.#filesOf(source)));
    const source = configMap ?? secret;
    if (source === undefined) return undefined;
    const name = source.name ?? source.secretName ?? '';
    const files = this.#objects[name];
    if (files === undefined) throw new Error(`there is no ConfigMap or Secret ${name}`);
    if (source.items === undefined) return files;
    const pairs = source.items.map(({ key, path }) => {
      if (files[key] === undefined) throw new Error(`${name} has no key ${key}`);
      return [path, files[key]];
    });
    return Object.fromEntries(pairs);
  }

  /** A text with the paths of the container where they are here. */
  #moved(text: string): string {
    return text.replaceAll(/(?<![\w/])\/(data|etc\/arrowgate)(?![\w-])/g, (path) => this.at(path));
  }
}

async function relink(target: string, link: string): Promise<void> {
  const next = join(dirname(link), `.next-${Math.random().toString(36).slice(2)}`);
  await symlink(target, next);
  await rename(next, link);
}

function ifThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
