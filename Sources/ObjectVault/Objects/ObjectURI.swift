// Ids as URIs, which name the store, the entity and the row: for links, state restoration and other
// programs. The parts that all kinds of ids share.

public import Foundation

/// The content of an id's URI, `vault://9f86d081884c7d65/User/42`.
struct ObjectURI: Equatable {
  private static let scheme = "vault"

  let store: StoreFingerprint
  let entity: String
  let rowID: Int64

  /// The parts of an id; nil for a temporary id, and for one without the mark of a store.
  init?(entity: String, rowID: Int64, of store: StoreFingerprint) {
    guard rowID > 0, store.isKnown else { return nil }
    (self.store, self.entity, self.rowID) = (store, entity, rowID)
  }

  /// Parses a URI. Each id has one form, except that letters of the scheme and the store may be upper-case.
  /// - Throws: ``StoreError/uriRefused(uri:reason:)``.
  init(_ uri: URL) throws(StoreError) {
    func refused(_ reason: String) -> StoreError { .uriRefused(uri: uri.absoluteString, reason: reason) }
    guard let parts = URLComponents(string: uri.absoluteString), parts.scheme?.lowercased() == Self.scheme
    else { throw refused("does not begin with \(Self.scheme)://") }
    guard parts.user == nil, parts.password == nil, parts.port == nil, parts.query == nil,
      parts.fragment == nil
    else { throw refused("has more parts than a store, an entity and a row") }
    guard let host = parts.host, host.utf8.count == StoreFingerprint.digits,
      host.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || isHexLetter($0) }),
      let word = UInt64(host, radix: 16), word != 0
    else { throw refused("names no store: after // are \(StoreFingerprint.digits) hexadecimal digits") }
    let path = parts.percentEncodedPath.split(separator: "/", omittingEmptySubsequences: false)
    guard path.count == 3, path[0].isEmpty, let entity = String(path[1]).removingPercentEncoding,
      !entity.isEmpty
    else { throw refused("does not have the form \(Self.scheme)://store/Entity/row") }
    guard let row = Int64(path[2]), row > 0, String(row) == path[2] else {
      throw refused("does not end in the number of a row")
    }
    (store, self.entity, rowID) = (StoreFingerprint(word: word), entity, row)
  }

  /// The URI.
  var url: URL? {
    // A name may have letters beyond ASCII. Foundation's set has ASCII letters only, and the slash.
    let allowed = CharacterSet.urlPathAllowed.subtracting(CharacterSet(charactersIn: "/"))
    let name = entity.addingPercentEncoding(withAllowedCharacters: allowed) ?? entity
    return URL(string: "\(Self.scheme)://\(store.hexadecimal)/\(name)/\(rowID)")
  }
}

private func isHexLetter(_ byte: UInt8) -> Bool {
  (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
}

extension ObjectID {
  /// The id as a URI, such as `vault://9f86d081884c7d65/User/42`: the mark of the store, the entity and the
  /// row.
  ///
  /// ```swift
  /// if let uri = user.id.uri { UserDefaults.standard.set(uri, forKey: "last") }
  /// ```
  ///
  /// Unlike the coded form, it names the store: in another store the id is refused. The mark is derived from
  /// ``Store/id``, so it is the same in copies of the store, and after a restore, a move or a change of the
  /// key. ``ObjectContext/existing(_:)->ManagedObject?`` finds the object of a URI.
  ///
  /// It is nil for a temporary id, for an id that was made from a number or decoded, and in a store without
  /// a ``Store/id``. The ids of objects and fetches have the mark.
  public var uri: URL? { ObjectURI(entity: entityName, rowID: rowID, of: store)?.url }

  /// Creates the id of a URI. No store is needed: the id has the mark of its store, and using it in another
  /// one throws ``StoreError/idOfAnotherStore(entity:rowID:)``.
  /// - Parameter uri: A URI from ``uri``, for exactly this class. For the id of a subclass use
  ///   ``ObjectContext/existing(_:)->ManagedObject?``.
  /// - Throws: ``StoreError/uriRefused(uri:reason:)`` if it has another form or names another entity.
  public init(uri: URL) throws {
    let parts = try ObjectURI(uri)
    let entity = String(describing: Object.self)
    guard parts.entity == entity else {
      throw StoreError.uriRefused(
        uri: uri.absoluteString,
        reason: "names an object of the entity \(legible(parts.entity)), not \(entity)")
    }
    self.init(rowID: parts.rowID, of: parts.store)
  }
}

extension DynamicID {
  /// The id as a URI: see ``ObjectID/uri``. An ``ObjectID`` of the same object has the same URI.
  public var uri: URL? { ObjectURI(entity: entity, rowID: rowID, of: store)?.url }

  /// Creates the id of a URI, of any entity: see ``ObjectID/init(uri:)``. Whether the entity exists is known
  /// when the id is used.
  /// - Parameter uri: A URI from ``uri``.
  /// - Throws: ``StoreError/uriRefused(uri:reason:)``.
  public init(uri: URL) throws {
    let parts = try ObjectURI(uri)
    self.init(entity: parts.entity, rowID: parts.rowID, of: parts.store)
  }
}
