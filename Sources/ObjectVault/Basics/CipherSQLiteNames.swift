// Type aliases for the CipherSQLite types that users of a store need: importing ObjectVault is enough.

public import CipherSQLite

/// The key of a store: ``/CipherSQLite/Key`` of the layer below.
public typealias Key = CipherSQLite.Key
/// Errors of files, keys and SQL: ``/CipherSQLite/SQLError`` of the layer below.
public typealias SQLError = CipherSQLite.SQLError
/// A stored value: ``/CipherSQLite/SQLValue`` of the layer below.
public typealias SQLValue = CipherSQLite.SQLValue
/// SQL text with its values: ``/CipherSQLite/SQL`` of the layer below.
public typealias SQL = CipherSQLite.SQL
/// The bytes of one value, read and written in parts: ``/CipherSQLite/BlobStream`` of the layer below.
public typealias BlobStream = CipherSQLite.BlobStream
/// A row of a query in SQL: ``/CipherSQLite/Row`` of the layer below.
public typealias Row = CipherSQLite.Row
/// A type whose values SQL can bind and read: ``/CipherSQLite/SQLConvertible`` of the layer below.
public typealias SQLConvertible = CipherSQLite.SQLConvertible
/// The form of dates in JSON: ``/CipherSQLite/DateStrategy`` of the layer below.
public typealias DateStrategy = CipherSQLite.DateStrategy
/// A statement that has ended: ``/CipherSQLite/TraceEvent`` of the layer below.
public typealias TraceEvent = CipherSQLite.TraceEvent
