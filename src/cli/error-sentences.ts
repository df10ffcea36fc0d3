import { DamagedFile } from '../arrow/sealed/file-seal.ts';
import { RecordFault } from '../audit/record/decoding.ts';
import { SigningKeyError } from '../audit/signing/keys.ts';
import { KeyFileError } from '../gateway/identity/key-document.ts';
// Every command loads this file: it takes errors from files that load little.
import { ArchivedPolicyError, PolicyError } from '../policy/lines/policy-error.ts';
import { CatalogError } from '../protocol/errors.ts';
import { StorageRefused, StorageUnavailable } from '../storage/storage-error.ts';
import { StoreError } from '../store/store-error.ts';
import { ConfigError } from './config/config-source.ts';
import { ServiceError, UsageError } from './output/service-error.ts';

/** The message of an error for a command, without the error's name; unexpected errors with their stack. */
export function sentencesOf(error: unknown): readonly string[] {
  if (error instanceof PolicyError) return error.findings;
  if (!(error instanceof Error)) return [String(error)];
  return [isSelfExplanatory(error) ? error.message : (error.stack ?? error.message)];
}

const plainErrors = [
  CatalogError,
  DamagedFile,
  ConfigError,
  RecordFault,
  ArchivedPolicyError,
  KeyFileError,
  ServiceError,
  SigningKeyError,
  StorageRefused,
  StorageUnavailable,
  StoreError,
  UsageError,
];

/** Whether the message is all that the user needs: ours, and those of the operating system. */
function isSelfExplanatory(error: Error): boolean {
  return plainErrors.some((kind) => error instanceof kind) || 'syscall' in error;
}
