import { readdir } from 'node:fs/promises';
import { isAbandoned } from '../../audit/instances/owner.ts';
import type { DataFolder } from './data-folder.ts';

/** Whether a process of this machine serves a data folder, by its audit log. */
export async function isServed({ audit, auditProcesses }: DataFolder): Promise<boolean> {
  const names = await readdir(auditProcesses).catch(() => []);
  const instances = names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -5));
  const places = { folder: audit, processes: auditProcesses };
  const missing = await Promise.all(
    instances.map((instance) => isAbandoned(places, instance).catch(() => true)),
  );
  return missing.includes(false);
}
