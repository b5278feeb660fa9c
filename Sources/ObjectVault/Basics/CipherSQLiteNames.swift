// The names of the connection layer that a user of the store needs, so that one import will do.

public import CipherSQLite

/// The key of a store: it is ``/CipherSQLite/Key``, of the layer below.
public typealias Key = CipherSQLite.Key
/// The errors of files, keys and SQL: they are ``/CipherSQLite/SQLError``, of the layer below.
public typealias SQLError = CipherSQLite.SQLError
/// A stored value: it is ``/CipherSQLite/SQLValue``, of the layer below.
public typealias SQLValue = CipherSQLite.SQLValue
