/** The kept text of a policy is not the text that its digest is of. */
export class KeptPolicyError extends Error {}
