// What `import … from 'arrowgate'` gives. The one file that may export what others define.
export { createGateway } from './create-gateway.ts';
export type { EmbeddedGateway, FastifyHost, GatewayOptions, Next } from './create-gateway.ts';
export type { AccessDecision, DescribedRequest } from '../gateway/forward-auth.ts';
export type { HostIdentity, IdentifyHost } from '../gateway/identity/host-identity.ts';
export type { GatewayConfig } from './config/gateway-config.ts';
export { ConfigError } from './config/config-source.ts';
export { UsageError } from './output/service-error.ts';
export { KeyFileError } from '../gateway/identity/key-document.ts';
export { PolicyError } from '../policy/lines/policy-error.ts';
export { CatalogError, errorTable } from '../protocol/errors.ts';
export type { ErrorName, ErrorRow } from '../protocol/errors.ts';
