(function () {
  "use strict";
  var tools = document.querySelector(".tools");
  var find = document.getElementById("find");
  var hits = document.getElementById("hits");
  if (!tools || !find) { return; }
  tools.hidden = false;
  var cards = Array.prototype.slice.call(document.querySelectorAll("#categories .card"));
  var groups = Array.prototype.slice.call(document.querySelectorAll("#categories .group"));
  var texts = cards.map(function (card) { return card.textContent.toLowerCase(); });
  function filter() {
    var words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    var shown = 0;
    cards.forEach(function (card, i) {
      var fits = words.every(function (word) { return texts[i].indexOf(word) >= 0; });
      card.hidden = !fits;
      shown += fits ? 1 : 0;
    });
    groups.forEach(function (group) { group.hidden = !group.querySelector(".card:not([hidden])"); });
    hits.textContent = words.length ? shown + " of " + cards.length : "";
  }
  find.addEventListener("input", filter);
  function open() {
    var target = /^#c\d+$/.test(location.hash) && document.getElementById(location.hash.slice(1));
    if (!target) { return; }
    if (target.hidden) { find.value = ""; filter(); }
    if (target.tagName === "DETAILS") { target.open = true; }
    target.scrollIntoView();
  }
  window.addEventListener("hashchange", open);
  open();
})();
