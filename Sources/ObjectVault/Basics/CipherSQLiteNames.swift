// Type aliases for the CipherSQLite types that users of a store need: importing ObjectVault is enough.

public import CipherSQLite

/// The key of a store: ``/CipherSQLite/Key`` of the layer below.
public typealias Key = CipherSQLite.Key
/// Errors of files, keys and SQL: ``/CipherSQLite/SQLError`` of the layer below.
public typealias SQLError = CipherSQLite.SQLError
/// A stored value: ``/CipherSQLite/SQLValue`` of the layer below.
public typealias SQLValue = CipherSQLite.SQLValue
