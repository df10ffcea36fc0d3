import { describe, expect, it } from 'vitest';
import {
  principalOfCertificate,
  type ClientSubject,
} from '../../../src/gateway/identity/client-certificate.ts';

type Names = Parameters<typeof principalOfCertificate>[0];

function subjectOf(names: object, from: ClientSubject): string {
  return principalOfCertificate(names as Names, from).subject;
}

const uris = (subjectaltname: string) => ({ subject: {}, subjectaltname });

describe('the owner of a client certificate', () => {
  it('is its common name', () => {
    const certificate = { subject: { CN: 'Zoë B', O: 'x' }, subjectaltname: 'URI:spiffe://x/y' };
    expect(principalOfCertificate(certificate as unknown as Names, 'cn')).toEqual({
      subject: 'user:Zo%C3%AB%20B',
      groups: [],
      roles: [],
      credential: { kind: 'certificate', subject: 'Zoë B' },
    });
  });

  it.each([
    ['alone', 'URI:spiffe://example.com/job', 'user:spiffe%3A%2F%2Fexample.com%2Fjob'],
    ['among others', 'DNS:a.example, URI:urn:x, IP Address:192.0.2.1', 'user:urn%3Ax'],
    [
      'with a comma in it, which Node quotes',
      'DNS:b, URI:"urn:a, URI:urn:b \\"c\\"", DNS:a',
      'user:urn%3Aa%2C%20URI%3Aurn%3Ab%20%22c%22',
    ],
    ['beside a name that looks like one', 'DNS:"x, URI:urn:admin", URI:urn:x', 'user:urn%3Ax'],
  ])('is its URI %s', (_, names, subject) => {
    expect(subjectOf(uris(names), 'san_uri')).toBe(subject);
  });

  it.each<readonly [string, object, ClientSubject, string]>([
    ['no common name', { subject: { O: 'x' } }, 'cn', 'the client certificate has no common name'],
    ['an empty one', { subject: { CN: '' } }, 'cn', 'the client certificate has no common name'],
    [
      'two of them',
      { subject: { CN: ['a', 'b'] } },
      'cn',
      'the client certificate has more than one common name',
    ],
    [
      'half a character in it',
      { subject: { CN: 'a\ud800' } },
      'cn',
      'the common name of the client certificate is not text',
    ],
    [
      'no alternative names',
      { subject: { CN: 'a' } },
      'san_uri',
      'the client certificate has no URI among its alternative names',
    ],
    [
      'no URI among them',
      uris('DNS:"x, URI:urn:admin"'),
      'san_uri',
      'the client certificate has no URI among its alternative names',
    ],
    [
      'two URIs',
      uris('URI:urn:a, URI:urn:b'),
      'san_uri',
      'the client certificate has more than one URI among its alternative names',
    ],
    [
      'names that cannot be read',
      uris('URI:urn:a"b'),
      'san_uri',
      'the alternative names of the client certificate cannot be read',
    ],
  ])('is nobody with %s', (_, names, from, sentence) => {
    expect(() => subjectOf(names, from)).toThrow(
      expect.objectContaining({ message: sentence, row: expect.objectContaining({ code: 16 }) }),
    );
  });
});
