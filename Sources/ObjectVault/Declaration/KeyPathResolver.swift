// Resolves key paths to property names.
//
// The path is applied to prototypes: objects whose getters record what is read. The compiler passes each
// property's getter the property's own key path; if it equals the path, the path is that property.
//
// A path through to-ones cannot be composed of such key paths, because Swift appends nothing after a `?`.
// Instead, the values that the path returns for several prototypes are compared with the values that
// their getters returned.
//
// A property of a superclass of the root has a key path that begins at the superclass. KeyPathComparison
// compares it with the path.
//
// The printed form of a key path is never a reason to accept the path. It only serves to reject paths
// that would trap if a to-one returned nil.

internal import CipherSQLite

enum KeyPathResolver {
  /// The name that is recorded for `\.id`.
  static let idName = "id"

  // Safe to share: a key path is immutable; the wrapper only makes that known to the compiler.
  private struct Path: Hashable, @unchecked Sendable {
    let keyPath: AnyKeyPath
    let root: ObjectIdentifier
  }
  private static let known = Locked<[Path: Result<[String], KeyPathError>]>([:])

  /// Returns the names of the properties along a key path from a managed object, such as
  /// `["user", "name"]`. A path to a part of a JSON attribute is refused.
  static func resolve(_ keyPath: AnyKeyPath, root: ManagedObject.Type) -> Result<[String], KeyPathError> {
    switch resolveValue(keyPath, root: root) {
    case .success(let names) where names.withoutType.count < names.count:
      return .failure(KeyPathError(path: keyPath, root: root, problem: .insideJSON(names)))
    case .failure(let error):
      guard case .part(_, let names) = error.problem else { return .failure(error) }
      return .failure(KeyPathError(path: keyPath, root: root, problem: .computed(names)))
    case .success(let names): return .success(names)
    }
  }

  /// Returns the names of the properties along a key path to a value. For a part of a JSON attribute, the
  /// keys in the JSON and the type of the part follow the name of the attribute.
  static func resolveValue(_ keyPath: AnyKeyPath, root: ManagedObject.Type) -> Result<[String], KeyPathError>
  {
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
    // The usual case: the returned value need not be checked.
    if first.names.count == 1, first.property == keyPath {
      first.forget()
      return first.names
    }
    let problem = first.problem(with: read, type(of: keyPath).valueType)
    if problem != nil, let part = try part(at: keyPath, from: root, after: first) { return part }
    if let problem { throw KeyPathError(path: keyPath, root: root, problem: problem) }
    guard first.names.count > 1 || first.isInherited(by: keyPath) else {
      throw KeyPathError(path: keyPath, root: root, problem: .computed(first.names))
    }
    // A path with `!` would trap on a nil to-one.
    let isPlain = first.names.count == 1 && !first.readsToOne
    guard isPlain || type(of: keyPath).valueType is any OptionalValue.Type, first.path != keyPath else {
      throw KeyPathError(path: keyPath, root: root, problem: .unwrapped(first.names))
    }
    // A `!` after a `?`, or inside a computed property, would trap, too.
    if let shape = PrintedKeyPath(keyPath) {
      guard !shape.isForced else {
        throw KeyPathError(path: keyPath, root: root, problem: .unwrapped(first.names))
      }
      guard shape.count == first.names.count else {
        throw KeyPathError(path: keyPath, root: root, problem: .computed(first.names))
      }
    }
    for number in 0..<first.sampleCount {
      try check(keyPath, root: root, with: .sample(number), names: first.names)
    }
    try check(keyPath, root: root, with: .nothing, names: first.names)
    return first.names
  }

  /// Returns the names of a path that ends at a part of a JSON attribute, with the type of the part; nil for
  /// other paths.
  private static func part(
    at keyPath: AnyKeyPath, from root: ManagedObject.Type, after recording: Recording
  ) throws(KeyPathError) -> [String]? {
    guard let stored = recording.json, let printed = PrintedKeyPath(keyPath), !printed.isForced else {
      return nil
    }
    let names = printed.names.dropFirst(recording.names.count)
    guard !names.isEmpty, names.allSatisfy({ Schema.isIdentifier($0) }) else { return nil }
    var isComputed = false
    do throws(JSONSampleError) {
      let shown = "\\\(root).\((recording.names + names).shownPath)"
      let sample = try JSONSample(
        verifying: keyPath, names: Array(names), shown: shown, stored: stored
      ) { json in
        let part = Recording(.json(json))
        defer { part.forget() }
        let value = part.prototype(root)[keyPath: keyPath]
        if part.names != recording.names { isComputed = true }
        return part.refusesJSON ? nil : value
      }
      // Where an optional is nil, a path ends; a computed property reads something else.
      let nothing = Recording(.nothing)
      let value = nothing.prototype(root)[keyPath: keyPath]
      nothing.forget()
      let isEmpty = value.flatMap(unwrapped) == nil
      if nothing.isCut
        ? !isEmpty || !recording.names.starts(with: nothing.names) : nothing.names != recording.names
      {
        isComputed = true
      }
      guard !isComputed else {
        throw JSONSampleError(path: shown, reason: .renamed)
      }
      return recording.names + names + [PathStep.type(sample.attributeType).name]
    } catch {
      throw KeyPathError(path: keyPath, root: root, problem: .part(error, of: recording.names))
    }
  }

  /// Checks a path with other values. For some values a computed property at the end of the path may
  /// return the value that it read, as `abs(size)` does, but not for all.
  private static func check(
    _ keyPath: AnyKeyPath, root: ManagedObject.Type, with values: Recording.Values, names: [String]
  ) throws(KeyPathError) {
    let recording = Recording(values)
    let read = recording.prototype(root)[keyPath: keyPath]
    if let problem = recording.problem(with: read, type(of: keyPath).valueType) {
      throw KeyPathError(path: keyPath, root: root, problem: problem)
    }
    // At a to-one that is nil the path ends early.
    guard recording.isCut ? names.starts(with: recording.names) : names == recording.names else {
      throw KeyPathError(path: keyPath, root: root, problem: .computed(names))
    }
  }
}

/// The structure of a printed key path, such as `\Book.author?.<computed 0x5586 (Optional<Club>)>!.name`.
///
/// Names and types may be any text; the characters between them mark the parts.
struct PrintedKeyPath {
  /// The names in the path. That of a computed property may be an address.
  let names: [String]
  /// The number of properties in the path.
  var count: Int { names.count }
  /// Whether there is a `!` after one of these properties.
  let isForced: Bool

  /// Parses the printed form. Returns nil when it has another form, as on older systems.
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
    names = marks[root...].dropFirst().split(separator: ".", omittingEmptySubsequences: false).map {
      $0.filter { $0 != "?" && $0 != "!" }
    }
    isForced = marks[root...].contains("!")
  }
}

/// A key path that does not end at a property of its root.
struct KeyPathError: Error, Sendable, CustomStringConvertible {
  enum Problem: Sendable {
    /// The path begins at another class.
    case otherRoot
    /// No property was read.
    case noProperty
    /// The path returns another value than the getter of the last property.
    case computed([String])
    /// The path contains a `!` after a to-one, or returns a value where a to-one is nil.
    case unwrapped([String])
    /// The path leads to a part of JSON, and a property is wanted.
    case insideJSON([String])
    /// The path leads to a part of JSON whose key is not known.
    case part(JSONSampleError, of: [String])
  }
  let text: String
  let root: String
  let problem: Problem

  init(path: AnyKeyPath, root: ManagedObject.Type, problem: Problem) {
    // `text` is for messages only. A computed property may be printed as an address, which is of no use
    // there.
    let (text, value) = ("\(path)", type(of: path).valueType)
    self.text = text.contains("<computed") ? "a key path of \(root) with a value of type \(value)" : text
    self.root = "\(root)"
    self.problem = problem
  }

  /// What is wrong with the path, and what to write instead.
  var description: String {
    switch problem {
    case .part(let error, _): error.description
    case .insideJSON(let names):
      "\(root).\(names.shownPath) is a part of a JSON attribute, and only a property is possible here; such a part can be "
        + "compared, sorted by, selected and grouped by"
    case .otherRoot: "\(text) does not begin at \(root)"
    case .noProperty:
      "\(text) is not declared with a wrapper and has no column; use a property with @Attribute, @ToOne or @ToMany"
    case .computed(let names):
      "\(text) does not end at a property: it computes a value from \(Self.shown(names)), and that value has "
        + "no column; compare the property itself, or store the value in its own attribute"
    case .unwrapped(let names):
      "\(text) has a value even where \(Self.shown(names.count > 1 ? names.dropLast() : names[...])) is nil; "
        + "write ?. instead of !, and do not use a computed property"
    }
  }

  private static func shown(_ names: some Collection<String>) -> String {
    names.prefix(5).joined(separator: ".") + (names.count > 5 ? "…" : "")
  }
}
