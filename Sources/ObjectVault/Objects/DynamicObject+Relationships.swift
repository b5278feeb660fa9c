// The subscripts of a DynamicObject for relationships. The methods that throw are in
// ManagedObject+NamedRelationships.

extension DynamicObject {
  /// The object that a to-one refers to; nil if there is none or it is to be deleted.
  ///
  /// Neither the getter nor the setter throws: an error goes to ``ObjectContext/faultErrors``, and the
  /// next save throws it.
  /// - Parameter name: The name of the to-one.
  public subscript(toOne name: String) -> DynamicObject? {
    get {
      do {
        let relationship = try relationship(name, isToMany: false)
        guard isReadable(name) else { return nil }
        return readToOne(UInt16(relationship.slot), as: DynamicObject.self) { \DynamicObject.entityName }
      } catch {
        tell(error)
        return nil
      }
    }
    set {
      do {
        let relationship = try relationship(name, isToMany: false)
        if let newValue { try checkEntity(of: newValue, relationship) }
        if isReachable(name) { writeToOne(newValue, UInt16(relationship.slot)) }
      } catch { tell(error) }
    }
  }

  /// The members of a to-many, as a set.
  ///
  /// To change single members, ``ManagedObject/add(_:to:)`` and ``ManagedObject/remove(_:from:)`` are faster,
  /// because they copy no set. Errors go to ``ObjectContext/faultErrors``.
  /// - Parameter name: The name of the to-many.
  public subscript(toMany name: String) -> Set<DynamicObject> {
    get {
      do {
        let relationship = try relationship(name, isToMany: true)
        guard isReadable(name) else { return [] }
        return readToMany(UInt16(relationship.slot), as: Set<DynamicObject>.self) {
          \DynamicObject.entityName
        }
      } catch {
        tell(error)
        return []
      }
    }
    set {
      do {
        let relationship = try relationship(name, isToMany: true)
        for object in newValue { try checkEntity(of: object, relationship) }
        if isReachable(name) { writeToMany(newValue, UInt16(relationship.slot)) }
      } catch { tell(error) }
    }
  }

  /// The members of an ordered to-many, in their order.
  ///
  /// Setting it sets the members and their order. Duplicates are dropped; the first occurrence wins.
  /// ``subscript(toMany:)`` gives the members as a set; members that are added through it go to the end
  /// of the order. Errors go to ``ObjectContext/faultErrors``.
  ///
  /// ```swift
  /// object[ordered: "songs"].swapAt(0, 1)
  /// ```
  /// - Parameter name: The name of the ordered to-many.
  public subscript(ordered name: String) -> [DynamicObject] {
    get {
      do {
        let relationship = try orderedRelationship(name)
        guard isReadable(name) else { return [] }
        return readToMany(UInt16(relationship.slot), as: [DynamicObject].self) { \DynamicObject.entityName }
      } catch {
        tell(error)
        return []
      }
    }
    set {
      do {
        let relationship = try orderedRelationship(name)
        for object in newValue { try checkEntity(of: object, relationship) }
        if isReachable(name) { writeToMany(newValue, UInt16(relationship.slot)) }
      } catch { tell(error) }
    }
  }

  private func orderedRelationship(_ name: String) throws(StoreError) -> RelationshipMapping {
    let relationship = try relationship(name, isToMany: true)
    if relationship.isOrdered { return relationship }
    throw misused(name, reason: "is not ordered; use [toMany: \"\(name)\"]")
  }

  /// Notifies the observer of reads. Returns whether the object is in a context, which is needed to read
  /// a relationship; if not, the error is reported.
  private func isReadable(_ name: String) -> Bool {
    host?.reads?(entityName, name, rowID)
    if host == nil { ContextlessErrors.tell(unreachable(name)) }
    return host != nil
  }
}
