"""Words that say nothing about a category: articles, pronouns, prepositions, auxiliaries.

Short lists serve the languages that have one, the language being the one whose list covers most of the texts.
For any other language they follow from the texts: the words that are frequent and spread evenly over all
categories.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.workspace.naming.words import Corpus

Array = NDArray[Any]
#: Share of all words that the list of a language must cover, and how many different ones, to serve.
COVERED, DIFFERENT = 0.2, 3
#: Share of all words that are function words where no list serves.
SHARE = 0.35
#: In how many categories such a word is, as if equally often in each: a share of them all, and a number.
EVEN, SEVERAL = 0.25, 1.5

_LISTS = {
    "en": """
        a an the this that these those some any all each every no not none both either neither other
        another such same own i me my mine myself you your yours yourself he him his she her hers it
        its itself we us our ours they them their theirs who whom whose which what where when why
        how there here am is are was were be been being do does did doing done have has had having
        can could will would shall should may might must ought let lets and or but nor so if then
        than as because while although though until unless since of in on at to from by for with
        about into onto over under between through during before after above below up down out off
        again further once too very just only also even still yet ever never now please want wanna
        need like gonna gotta get got i'm i'd i'll i've you're you'd you'll you've it's he's she's
        we're they're that's what's whats who's where's when's how's there's here's let's don't
        doesn't didn't isn't aren't wasn't weren't won't wouldn't can't cannot couldn't shouldn't
        haven't hasn't hadn't im ive id dont cant whether per via much many more most few less least
        lot lots
    """,
    "de": """
        der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner
        dieser diese dieses diesen diesem jener jene jeder jede jedes alle alles ich mich mir mein
        meine meinen meinem meiner du dich dir dein deine deinen er ihn ihm sein seine seinen sie
        ihr ihre ihren es wir uns unser unsere euch euer man sich wer wen wem was welche welcher
        welches wo wann warum wie bin bist ist sind seid war waren wurde werden wird habe hast hat
        haben hatte kann kannst können könnte könnten muss müssen soll sollte will möchte würde darf
        und oder aber sondern denn wenn dass ob als weil damit von in im an am auf aus bei bis durch
        für gegen mit nach ohne seit über um unter vom vor zu zum zur zwischen auch noch nur schon
        so sehr nicht da dort hier dann bitte mal ja nein gibt
    """,
    "fr": """
        le la les l un une des du de d au aux ce cet cette ces mon ma mes ton ta tes son sa ses
        notre nos votre vos leur leurs je j me m moi tu te t toi il elle on nous vous ils elles se s
        lui y en qui que qu quoi quel quelle quels quelles où quand comment pourquoi combien est es
        suis sont être était ai as a avons avez ont avoir peux peut pouvez pourrais pourriez veux
        voudrais dois doit faut fait faire et ou mais donc or ni car si comme parce à dans par pour
        sur avec sans sous entre vers chez ne n pas plus moins très bien aussi encore déjà ici là
        c'est j'ai qu'est s'il n'est cela ça
    """,
    "es": """
        el la los las lo un una unos unas del al este esta estos estas ese esa esos esas eso esto mi
        mis tu tus su sus nuestro nuestra yo me mí te ti se nos le les él ella ellos ellas usted
        ustedes que qué quién cuál cuáles dónde donde cuándo cuando cómo como cuánto cuánta cuántos
        por porque es son soy era ser está están estoy estar ha he han hay haber tengo tiene tener
        puedo puede puedes podría quiero quiere necesito debo hacer hace y e o u pero si ni de a en
        con sin para sobre entre desde hasta no sí más menos muy ya también aquí allí favor
    """,
    "it": """
        il lo la i gli le l un uno una del dello della dei degli delle al allo alla ai agli alle dal
        dalla dai nel nella nei sul sulla questo questa questi queste quello quella mio mia miei mie
        tuo tua suo sua io me mi tu te ti si ci vi noi voi lui lei loro che chi cosa quale quali
        dove quando come perché quanto quanta quanti è sono sei era essere ho hai ha hanno avere
        posso può puoi potrei vorrei voglio devo deve fare e ed o ma se di a da in con su per tra
        fra non più meno molto anche ancora già qui c'è
    """,
    "pt": """
        o a os as um uma uns umas do da dos das no na nos nas ao aos à às pelo pela este esta estes
        estas esse essa isso isto meu minha meus minhas teu tua seu sua seus suas eu me mim tu te
        você vocês se ele ela nós lhe que quem qual quais onde quando como porque quanto quantos é
        são sou era ser está estão estou estar tem tenho há ter posso pode poderia quero preciso
        devo fazer faz e ou mas se de em com sem por para sobre entre até não sim mais menos muito
        já também aqui
    """,
    "nl": """
        de het een dit dat deze die mijn jouw je zijn haar ons onze hun ik me mij jij hij ze zij we
        wij jullie u uw er wie wat welke waar wanneer waarom hoe ben bent is was waren worden wordt
        heb hebt heeft hebben kan kunt kunnen kon moet moeten wil zou mag en of maar want als dat
        omdat van in op aan te naar bij voor met zonder over om uit tot door niet geen ook nog al
        wel heel hier daar dan graag
    """,
}
_QUESTIONS = """
    how what who where when why which wie was wer wo wann warum welche comment qui où quand pourquoi
    combien quel quelle qué quién dónde cuándo cómo cuánto cuántos cuál come chi dove quando perché
    quanto quale onde como quem qual quantos hoe wat waar wanneer waarom
"""
#: Words with which a name may begin, although they are function words.
QUESTIONS = frozenset(_QUESTIONS.split())

__all__ = ["QUESTIONS", "function_words"]


def function_words(corpus: Corpus, spread: Array, n_groups: int) -> Array:
    """Which words of a corpus say nothing about a category, bool array (V,).

    Parameters
    ----------
    corpus : Corpus
    spread : float array (V,)
        In how many categories each word is, as if equally often in each.
    n_groups : int
        Number of categories.
    """
    words = corpus.words
    counts = np.bincount(corpus.ids[corpus.ids >= 0], minlength=len(words))
    total = max(int(counts.sum()), 1)
    listed = [np.array([word in known for word in words], bool) for known in _sets()]
    covered = [float(counts[own].sum()) / total if own.sum() >= DIFFERENT else 0.0 for own in listed]
    if max(covered) >= COVERED:
        return listed[int(np.argmax(covered))]
    order = np.argsort(-spread * counts, kind="stable")
    before = (np.cumsum(counts[order]) - counts[order]) / total
    found = np.zeros(len(words), bool)
    found[order[before < SHARE]] = True
    return found & (spread >= max(EVEN * n_groups, SEVERAL)) & (counts > 2)


def _sets() -> list[frozenset[str]]:
    return [frozenset(text.split()) for text in _LISTS.values()]
