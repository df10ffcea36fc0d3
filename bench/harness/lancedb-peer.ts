import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as LanceDb from '@lancedb/lancedb';
import type * as Arrow from 'apache-arrow';
import {
  lanceDbVersion,
  newestLanceDbFolder,
  type ClientVersion,
} from '../../test/support/client-packages.ts';
import { readOptions } from './options.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The LanceDB that the project is measured against, and the Arrow classes that it takes. */
interface LanceDbPeer {
  readonly lancedb: typeof LanceDb;
  readonly arrow: typeof Arrow;
  readonly version: ClientVersion;
}

/**
 * The newest LanceDB, installed beside the project when it is not there; or the project's own. Two builds
 * that are compared need no peer, only its Arrow classes: the project's own are used.
 */
async function loadPeer(): Promise<LanceDbPeer> {
  const { against, ownPeer } = readOptions();
  const folder = against === undefined && !ownPeer ? await newestLanceDbFolder() : ROOT;
  const require = createRequire(join(folder, 'package.json'));
  const lancedb: typeof LanceDb = require('@lancedb/lancedb');
  const arrow: typeof Arrow = require('apache-arrow');
  return { lancedb, arrow, version: lanceDbVersion(folder) };
}

/** The peer of this process: rows for it are made of its own Arrow classes. */
export const peer: LanceDbPeer = await loadPeer();
