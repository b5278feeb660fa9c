// A key path to property names: the path is applied to prototypes, whose getters note what was read. The getter
// of a property gets its own key path from the compiler, and where that equals the path, the path is the
// property. Paths through to-ones cannot be put together of such pieces, as Swift appends nothing behind a `?`:
// what comes back from several prototypes is compared with what their getters gave. A property of a class above the
// root has a key path that begins there: the two are compared behind a path that leads to either. The printed form
// of a key path accepts nothing; it refuses what would trap when nil is tried.

internal import CipherSQLite

enum KeyPathResolver {
  /// The name under which `\.id` is noted.
  static let idName = "id"

  // Safe to share: a key path is immutable; the wrapper only says so to the compiler.
  private struct Path: Hashable, @unchecked Sendable {
    let keyPath: AnyKeyPath
    let root: ObjectIdentifier
  }
  private static let known = Locked<[Path: Result<[String], KeyPathError>]>([:])

  /// The names of the properties along a key path from a managed object, such as `["user", "name"]`.
  static func resolve(_ keyPath: AnyKeyPath, root: ManagedObject.Type) -> Result<[String], KeyPathError> {
    let path = Path(keyPath: keyPath, root: ObjectIdentifier(root))
    if let found = known.withLock({ $0[path] }) { return found }
    let result = Result { () throws(KeyPathError) in try names(keyPath, root) }
    known.withLock { $0[path] = result }
    return result
  }

  private static func names(_ keyPath: AnyKeyPath, _ root: ManagedObject.Type) throws(KeyPathError)
    -> [String]
  {
    guard type(of: keyPath).rootType == root else {
      throw KeyPathError(path: keyPath, root: root, problem: .otherRoot)
    }
    let first = Recording(.plain)
    let read = first.prototype(root)[keyPath: keyPath]
    // Which most are, so that what came back need not be looked at.
    if first.names.count == 1, first.property == keyPath {
      first.forget()
      return first.names
    }
    let problem = first.problem(with: read, type(of: keyPath).valueType)
    if let problem { throw KeyPathError(path: keyPath, root: root, problem: problem) }
    guard first.names.count > 1 || first.isInherited(by: keyPath) else {
      throw KeyPathError(path: keyPath, root: root, problem: .computed(first.names))
    }
    // A to-one that is nil would trap behind a `!`.
    let isPlain = first.names.count == 1 && !first.isCutByNil
    guard isPlain || type(of: keyPath).valueType is any OptionalValue.Type, first.path != keyPath else {
      throw KeyPathError(path: keyPath, root: root, problem: .unwrapped(first.names))
    }
    // And so would one behind a ?, and one inside a computed property.
    if let shape = PrintedKeyPath(keyPath) {
      guard !shape.isForced else {
        throw KeyPathError(path: keyPath, root: root, problem: .unwrapped(first.names))
      }
      guard shape.count == first.names.count else {
        throw KeyPathError(path: keyPath, root: root, problem: .computed(first.names))
      }
    }
    for number in 0..<first.sampleCount { try check(keyPath, root, .sample(number), first.names) }
    try check(keyPath, root, .nothing, first.names)
    return first.names
  }

  /// A computed property at the end of a path may give back what it read for some values, as `abs(size)` does,
  /// and not for all.
  private static func check(
    _ keyPath: AnyKeyPath, _ root: ManagedObject.Type, _ values: Recording.Values, _ names: [String]
  ) throws(KeyPathError) {
    let recording = Recording(values)
    let read = recording.prototype(root)[keyPath: keyPath]
    if let problem = recording.problem(with: read, type(of: keyPath).valueType) {
      throw KeyPathError(path: keyPath, root: root, problem: problem)
    }
    // Behind a to-one that is nil the path ends early.
    guard recording.isCut ? names.starts(with: recording.names) : names == recording.names else {
      throw KeyPathError(path: keyPath, root: root, problem: .computed(names))
    }
  }
}

/// What the printed form of a key path says of its parts: `\Book.author?.<computed 0x5586 (Optional<Club>)>!.name`.
///
/// Names and types may be anything; the marks between them are those of the parts.
struct PrintedKeyPath {
  /// How many properties it goes through.
  let count: Int
  /// Whether a `!` stands behind one of them.
  let isForced: Bool

  /// nil when it is printed in another way, as by older systems.
  init?(_ path: AnyKeyPath) {
    let text = path.debugDescription.replacing("->", with: "")
    guard text.hasPrefix("\\") else { return nil }
    var depth = 0
    let marks = text.filter { character in
      if character == "<" { depth += 1 }
      defer { if character == ">" { depth -= 1 } }
      return depth == 0
    }
    guard depth == 0, let root = marks.firstIndex(of: ".") else { return nil }
    count = marks[root...].count { $0 == "." }
    isForced = marks[root...].contains("!")
  }
}

/// A key path that does not end at a property of its root.
struct KeyPathError: Error, Sendable, CustomStringConvertible {
  enum Problem: Sendable {
    /// It begins at another class.
    case otherRoot
    /// Nothing was read on the way.
    case noProperty
    /// What came back is not what was read.
    case computed([String])
    /// It goes through a to-one with `!`, or gives a value where there is none.
    case unwrapped([String])
  }
  let text: String
  let root: String
  let problem: Problem

  init(path: AnyKeyPath, root: ManagedObject.Type, problem: Problem) {
    // For people only; a computed property may be printed as an address, which says nothing.
    let (text, value) = ("\(path)", type(of: path).valueType)
    self.text = text.contains("<computed") ? "a key path of \(root) that gives \(value)" : text
    self.root = "\(root)"
    self.problem = problem
  }

  /// What it is and what to write instead.
  var description: String {
    switch problem {
    case .otherRoot: "\(text) does not begin at \(root)"
    case .noProperty:
      "\(text) is not declared with a wrapper and has no column; use a property with @Attribute, @ToOne or @ToMany"
    case .computed(let names):
      "\(text) does not end at a property but computes something of \(Self.shown(names)), which has no "
        + "column; compare the property itself, or store the value in an attribute of its own"
    case .unwrapped(let names):
      "\(text) gives a value where \(Self.shown(names.count > 1 ? names.dropLast() : names[...])) is nil; write ?. instead of !, and no "
        + "computed property"
    }
  }

  private static func shown(_ names: some Collection<String>) -> String {
    names.prefix(5).joined(separator: ".") + (names.count > 5 ? "…" : "")
  }
}
