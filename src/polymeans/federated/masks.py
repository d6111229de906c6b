"""Secure aggregation: masks that two sites share and that cancel in the sum of all sites.

Every pair of sites agrees on a secret (Diffie-Hellman in the 2048-bit group of RFC 3526). For each
round both derive the same stream of 64-bit integers from it; one adds it to its totals, the other
subtracts it. A server sees uniformly random numbers, and their sum modulo ``2**64`` is exactly the
sum of all totals, since these are integers.

**Protects against** a server that looks at the totals of single sites. **Does not protect against**
what the sum of all sites says, a server that works together with all sites but one, or a server
that gives sites wrong public keys: have these compared by another way if it could.
"""

import hashlib
import secrets
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: The prime of RFC 3526, group 14; its generator is 2.
_PRIME = int(
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
    "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
    "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F"
    "83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3B"
    "E39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF6955817183995497CEA956AE515D2261898FA0510"
    "15728E5A8AACAA68FFFFFFFFFFFFFFFF",
    16,
)
_KEY_BYTES = 256
_PRIVATE_BITS = 256


def new_private_key() -> bytes:
    """A key that never leaves its site."""
    return (secrets.randbits(_PRIVATE_BITS) | (1 << (_PRIVATE_BITS - 1))).to_bytes(32, "big")


def public_key(private: bytes) -> str:
    """The key that other sites are given."""
    return f"{pow(2, int.from_bytes(private, 'big'), _PRIME):0{2 * _KEY_BYTES}x}"


def shared_secret(private: bytes, public: str) -> bytes:
    """What two sites have in common, each from its own private and the other's public key."""
    other = int(public, 16)
    if not 1 < other < _PRIME - 1:
        raise ValueError("A public key is out of range: it would make the shared secret guessable.")
    common = pow(other, int.from_bytes(private, "big"), _PRIME)
    return hashlib.sha256(common.to_bytes(_KEY_BYTES, "big")).digest()


def masked(
    values: NDArray[np.int64],
    name: str,
    others: Sequence[str],
    secrets_of: dict[str, bytes],
    label: str,
) -> NDArray[np.uint64]:
    """Integers under the masks that a site shares with others.

    Parameters
    ----------
    values : ndarray of int64
    name : str
        Of this site.
    others : sequence of str
        Names of the other sites whose masked integers will be added.
    secrets_of : dict
        What this site has in common with each of them.
    label : str
        Never the same for two messages of a run, so that no mask is used twice.

    Returns
    -------
    ndarray of uint64
        Of the same shape.
    """
    out = np.ascontiguousarray(values).view(np.uint64).copy().ravel()
    for other in sorted(others):
        stream = _stream(secrets_of[other], f"{label}|{'|'.join(sorted((name, other)))}", len(out))
        out = out + stream if name < other else out - stream
    return out.reshape(values.shape)


def unmasked_sum(parts: Sequence[NDArray[np.uint64]]) -> NDArray[np.int64]:
    """The sum of what sites have masked: masks are gone if all of them are there."""
    total = np.zeros_like(parts[0])
    for part in parts:
        total = total + part
    return total.view(np.int64)


def _stream(secret: bytes, label: str, n: int) -> NDArray[np.uint64]:
    digest = hashlib.shake_256(secret + label.encode()).digest(8 * n)
    return np.frombuffer(digest, dtype="<u8").astype(np.uint64)
