// The names of the connection layer that a user of the store needs, so that one import will do.

public import CipherSQLite

/// The key of a store: see ``/CipherSQLite/Key``.
public typealias Key = CipherSQLite.Key
/// Errors of files, keys and SQL: see ``/CipherSQLite/SQLError``.
public typealias SQLError = CipherSQLite.SQLError
/// A stored value: see ``/CipherSQLite/SQLValue``.
public typealias SQLValue = CipherSQLite.SQLValue
