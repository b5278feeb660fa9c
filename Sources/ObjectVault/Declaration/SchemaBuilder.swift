// The DSL for schemas: makes a Schema of classes and SQL. Nothing here throws; errors become faults of
// the schema.

internal import CipherSQLite

/// One entity of a schema in the DSL.
///
/// ```swift
/// Entity(User.self)
///   .unique(\.name, \.city)
///   .index(\.joined)
///   .check(\.screenName, .length(0...64))
/// ```
public struct Entity<Object: ManagedObject>: EntityDeclaring {
  private var indexes: [(paths: [PartialKeyPath<Object>], isUnique: Bool, comparing: StringOptions)] = []
  private var checks: [(path: PartialKeyPath<Object>, rule: CheckRule)] = []
  private var formerName: String?
  private var detail: HistoryDetail?

  /// Declares the entity of a class; its name is the class's. If its class is a subclass of another
  /// entity's class, the entity inherits from that entity: see <doc:inheritance>.
  /// - Parameter type: The class.
  public init(_ type: Object.Type) {}

  /// Declares that no two objects have the same values of some properties. Two nils do not count as the
  /// same value.
  /// - Parameter paths: The properties.
  /// - Returns: The entity with the constraint.
  public func unique(_ paths: PartialKeyPath<Object>...) -> Self {
    var copy = self
    copy.indexes.append((paths, true, []))
    return copy
  }

  /// Adds an index.
  /// - Parameters:
  ///   - paths: The properties of the index, in its order.
  ///   - options: What the index ignores in its String attributes: it serves comparisons and sorts with
  ///     exactly these options. See ``AttributeOption/indexed(_:)``.
  /// - Returns: The entity with the index.
  public func index(_ paths: PartialKeyPath<Object>..., comparing options: StringOptions = []) -> Self {
    var copy = self
    copy.indexes.append((paths, false, options))
    return copy
  }

  /// Adds a rule that every object must satisfy when it is saved. Rules are part of the program, not of
  /// the file: they can change without a migration.
  /// - Parameters:
  ///   - path: The attribute that the rule checks.
  ///   - rule: The rule.
  /// - Returns: The entity with the rule.
  public func check(_ path: PartialKeyPath<Object>, _ rule: CheckRule) -> Self {
    var copy = self
    copy.checks.append((path, rule))
    return copy
  }

  /// Declares that the entity had another name in an earlier version, before the class was renamed.
  ///
  /// ```swift
  /// Entity(Person.self).renamed(from: "Human")
  /// ```
  ///
  /// Proposed steps then rename the entity, instead of dropping one entity and creating another: in
  /// `new --from-model`, in the lines of ``StoreError/schemaMismatch(differences:lines:)``, and with
  /// ``Store/Migrations/automatic``. The declaration applies while the steps have an entity with the
  /// former name and none with the new one.
  /// Once a step has renamed the entity, `lint` reports that the declaration should be removed.
  /// - Parameter name: The former name.
  /// - Returns: The entity with the former name.
  public func renamed(from name: String) -> Self {
    var copy = self
    copy.formerName = name
    return copy
  }

  /// Declares that the store keeps a history of the entity's objects: each change, with its time and
  /// author, in the same encrypted file. ``Store/history(since:)`` reads it: see <doc:history>.
  ///
  /// Subentities have the history, too. Switching a history on or off is a change of the model, and needs
  /// a migration step.
  /// - Parameter detail: What is recorded.
  /// - Returns: The entity with the history.
  public func history(_ detail: HistoryDetail = .full) -> Self {
    var copy = self
    copy.detail = detail
    return copy
  }

  /// The declaration with its type erased.
  public var declaration: EntityDeclaration {
    EntityDeclaration(
      type: Object.self, formerName: formerName, history: detail,
      indexes: indexes.map { index in
        (
          properties: index.paths.map { KeyPathResolver.resolve($0, root: Object.self) },
          isUnique: index.isUnique, comparing: index.comparing
        )
      },
      checks: checks.map {
        (property: KeyPathResolver.resolve($0.path, root: Object.self), rule: $0.rule)
      })
  }
}

/// An entity declaration that a ``SchemaBuilder`` accepts.
public protocol EntityDeclaring {
  /// The declaration with its type erased.
  var declaration: EntityDeclaration { get }
}

/// An entity of the DSL with its type erased.
public struct EntityDeclaration {
  let type: ManagedObject.Type
  let formerName: String?
  let history: HistoryDetail?
  let indexes: [(properties: [Result<[String], KeyPathError>], isUnique: Bool, comparing: StringOptions)]
  let checks: [(property: Result<[String], KeyPathError>, rule: CheckRule)]
}

/// A part of a ``Schema`` in the DSL: an entity or a raw object.
public struct SchemaPart {
  enum Content {
    case entity(EntityDeclaration)
    case raw(RawObject)
  }
  let content: Content
}

/// Collects the parts of a ``Schema``.
@resultBuilder
public enum SchemaBuilder {
  /// Adds one entity.
  public static func buildExpression(_ entity: some EntityDeclaring) -> [SchemaPart] {
    [SchemaPart(content: .entity(entity.declaration))]
  }
  /// Adds one view, trigger or index in SQL.
  public static func buildExpression(_ object: RawObject) -> [SchemaPart] {
    [SchemaPart(content: .raw(object))]
  }
  /// Joins several parts.
  public static func buildBlock(_ parts: [SchemaPart]...) -> [SchemaPart] { parts.flatMap { $0 } }
  /// Adds the parts of a condition without `else`.
  public static func buildOptional(_ part: [SchemaPart]?) -> [SchemaPart] { part ?? [] }
  /// Adds the parts of the first branch of a condition.
  public static func buildEither(first part: [SchemaPart]) -> [SchemaPart] { part }
  /// Adds the parts of the second branch of a condition.
  public static func buildEither(second part: [SchemaPart]) -> [SchemaPart] { part }
}

// Safe to share: never changed after it was made; the closures in it only make default values.
/// The Swift class of an entity, with its rules.
struct ClassBinding: EntityBinding, @unchecked Sendable {
  let description: ClassDescription
  let formerEntityName: String?
  private(set) var checks: [String: [CheckRule]]

  var propertyNames: [String] { description.properties.sorted { $0.slot < $1.slot }.map(\.name) }

  func initialValue(of property: String) -> (() throws -> SQLValue)? {
    guard case .attribute(_, _, let initial, _) = declaration(of: property)?.kind else { return nil }
    return initial
  }

  func checks(of property: String) -> [CheckRule] { checks[property] ?? [] }
  func formerName(of property: String) -> String? {
    option(of: property) {
      if case .renamed(let name) = $0 { name } else { nil }
    } inRelationship: {
      if case .renamed(let name) = $0 { name } else { nil }
    }
  }

  func key(of property: String) -> String? {
    option(of: property) {
      if case .key(let key) = $0 { key } else { nil }
    } inRelationship: {
      if case .key(let key) = $0 { key } else { nil }
    }
  }

  /// Returns the text of the first option of a property that has one.
  private func option(
    of property: String, inAttribute: (AttributeOption) -> String?,
    inRelationship: (RelationshipOption) -> String?
  ) -> String? {
    switch declaration(of: property)?.kind {
    case .attribute(_, _, _, let options)?: options.lazy.compactMap(inAttribute).first
    case .relationship(_, _, let options, _, _)?: options.lazy.compactMap(inRelationship).first
    case nil: nil
    }
  }

  func reader(of property: String) -> ValueReader? { declaration(of: property)?.reader }

  private func declaration(of property: String) -> PropertyDeclaration? {
    description.properties.first { $0.name == property }
  }

  /// Returns the binding with the rules of the superclasses, which hold for objects of subclasses, too.
  func inheriting(from bindings: [String: ClassBinding]) -> ClassBinding {
    guard let parent = description.parent, let above = bindings[String(describing: parent)] else {
      return self
    }
    var copy = self
    copy.checks = above.inheriting(from: bindings).checks.merging(checks) { $0 + $1 }
    return copy
  }
}

extension Schema {
  /// Makes a schema of Swift classes, and of views, triggers and indexes in SQL.
  ///
  /// Errors in the declarations are kept in ``faults`` and thrown, all at once, by ``validate()`` and
  /// when a store is opened.
  /// - Parameter parts: The entities and raw objects.
  public init(@SchemaBuilder _ parts: () -> [SchemaPart]) {
    var collector = SchemaCollector()
    var rawObjects: [RawObject] = []
    for part in parts() {
      switch part.content {
      case .entity(let declaration): collector.add(declaration)
      case .raw(let object): rawObjects.append(object)
      }
    }
    self.init(entities: collector.entities, rawObjects: rawObjects)
    bindings = collector.bindings.mapValues { $0.inheriting(from: collector.bindings) }
    faults = collector.faults + collector.strangers
  }
}

private struct SchemaCollector {
  var entities: [EntityDescription] = []
  var bindings: [String: ClassBinding] = [:]
  var faults: [SchemaFault] = []

  /// The faults of entities whose superclass is not in the schema, although another class with its name
  /// is: nested classes can share a name.
  var strangers: [SchemaFault] {
    bindings.sorted { $0.key < $1.key }.compactMap { name, binding in
      guard let parent = binding.description.parent, let above = bindings[String(describing: parent)],
        above.description.type != parent
      else { return nil }
      return .unknownParent(entity: name, parent: String(reflecting: parent))
    }
  }

  mutating func add(_ declaration: EntityDeclaration) {
    let description = ClassDescription.of(declaration.type)
    var entity = EntityDescription(name: description.entityName)
    entity.parent = description.parent.map { String(describing: $0) }
    entity.history = declaration.history
    if let property = description.usedProperty {
      faults.append(.busyInitializer(entity: entity.name, property: property))
    }
    for property in description.properties where property.level == 0 { add(property, to: &entity) }
    for index in declaration.indexes {
      let names = index.properties.compactMap {
        name($0, of: entity.name, use: index.isUnique ? "a unique index" : "an index")
      }
      if names.count == index.properties.count {
        entity.indexes.append(
          IndexDescription(properties: names, isUnique: index.isUnique, comparing: index.comparing))
      }
    }
    var checks: [String: [CheckRule]] = [:]
    for check in declaration.checks {
      guard let name = name(check.property, of: entity.name, use: "a check") else { continue }
      if !description.hasAttribute(name) {
        faults.append(.unknownProperty(entity: entity.name, property: name, use: "a check"))
      }
      checks[name, default: []].append(check.rule)
    }
    bindings[entity.name] = ClassBinding(
      description: description, formerEntityName: declaration.formerName, checks: checks)
    entities.append(entity)
  }

  /// Returns the names along a key path, joined by dots; nil for an invalid key path, which becomes a
  /// fault.
  private mutating func name(
    _ path: Result<[String], KeyPathError>, of entity: String, use: String
  ) -> String? {
    switch path {
    case .success(let names): return names.shownPath
    case .failure(let error):
      faults.append(.badKeyPath(entity: entity, use: use, reason: error.description))
      return nil
    }
  }

  private mutating func add(_ property: PropertyDeclaration, to entity: inout EntityDescription) {
    switch property.kind {
    case .attribute(let type, let isOptional, let initial, let options):
      var attribute = AttributeDescription(
        name: property.name, type: type, isOptional: isOptional, isUnique: options.contains(.unique),
        isIndexed: options.contains(.indexed) && !options.contains(.unique),
        isLazy: options.contains(.lazy))
      if let initial {
        do {
          // A default that differs between two calls, or is a date or UUID, is computed for each object
          // and is not part of the schema.
          let (first, second) = (try initial(), try initial())
          if type != .date, type != .uuid, first == second { attribute.defaultValue = DefaultValue(first) }
        } catch {
          faults.append(.badDefault(entity: entity.name, property: property.name, reason: "\(error)"))
        }
      }
      entity.attributes.append(attribute)
      for case .foldedIndex(let comparing) in options {
        entity.indexes.append(IndexDescription(properties: [property.name], comparing: comparing))
      }
    case .relationship(let target, let number, let options, let inverse, let rule):
      var relationship = RelationshipDescription(
        name: property.name, destination: String(describing: target), isToMany: number != .one,
        isOrdered: number == .ordered, isRequired: options.contains(.required), deleteRule: rule)
      if let inverse {
        relationship.inverse = name(
          KeyPathResolver.resolve(inverse, root: target), of: entity.name,
          use: "the inverse of \(property.name)")
      }
      entity.relationships.append(relationship)
    }
  }
}
